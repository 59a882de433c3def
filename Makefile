# Two commands for a newcomer on Debian 12 (others: see README): `make demo` and `make check`.
BUILD ?= build
JOBS  ?= $(shell nproc)

.PHONY: all deps build demo check bench format clean
all: build

deps:
	@sh scripts/install-deps.sh

$(BUILD)/build.ninja: CMakeLists.txt | deps
	@cmake -S . -B $(BUILD) -G Ninja

build: deps $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS)

demo: build
	@sh scripts/demo.sh $(BUILD)

check: build
	@cd $(BUILD) && ctest --output-on-failure -j $(JOBS)

bench: build
	@cmake --build $(BUILD) --target bench

clean:
	rm -rf $(BUILD)
