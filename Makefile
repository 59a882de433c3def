# Two commands for a newcomer on Debian 12 (others: see README): `make demo` and `make check`.
BUILD ?= build
JOBS  ?= $(shell nproc)

.PHONY: all deps build demo check sanitize lint bench docs clean
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

# Everything of ours with sanitizers, and its tests; longer than `check`, which has a part of it.
sanitize: deps
	@sh tests/sanitize.sh . $(BUILD)-address address,undefined all
	@sh tests/sanitize.sh . $(BUILD)-thread thread all

lint: build
	@sh tests/lint.sh . $(BUILD)

docs: build
	@cmake --build $(BUILD) --target docs

bench: build
	@cmake --build $(BUILD) --target bench

clean:
	rm -rf $(BUILD)
