"""Kernels of bench/cuda, compiled by nvcc, through NVIDIA's driver in the process of PyTorch, whose context they share.

Peers(folder) finds FOLDER/NAME.sm_XX.cubin (tests/device/package.sh leaves them there for a machine without a compiler), else compiles
FOLDER/NAME.cu where nvcc is installed. launch() gives a function that starts a kernel on PyTorch's stream, or None without either."""
import ctypes as c
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

VALUES = {np.dtype(np.float32): c.c_float, np.dtype(np.uint32): c.c_uint32, np.dtype(np.int32): c.c_int32}


def compiler():
    return os.environ.get("NVCC") or shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def compile_cubin(nvcc, source, target, output):
    subprocess.run([nvcc, "-O3", f"-arch={target}", "-cubin", "-o", str(output), str(source)], check=True)


class Peers:
    def __init__(self, folder, torch):
        self.folder, self.torch, self.modules = pathlib.Path(folder), torch, {}
        self.target = "sm_%d%d" % torch.cuda.get_device_capability(0)
        self.scratch = tempfile.TemporaryDirectory()
        torch.cuda.current_stream().synchronize()  # so that there is a context
        self.driver = c.CDLL("libcuda.so.1")

    def call(self, name, *arguments):
        result = getattr(self.driver, name)(*arguments)
        if result:
            text = c.c_char_p()
            self.driver.cuGetErrorString(result, c.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()}")

    def cubin(self, name):
        path, source, nvcc = self.folder / f"{name}.{self.target}.cubin", self.folder / f"{name}.cu", compiler()
        if path.exists() or not nvcc or not source.exists():
            return path if path.exists() else None
        made = pathlib.Path(self.scratch.name) / path.name
        compile_cubin(nvcc, source, self.target, made)
        return made

    def function(self, name, kernel):
        if name not in self.modules:
            path, self.modules[name] = self.cubin(name), None
            if path:
                self.modules[name] = c.c_void_p()
                self.call("cuModuleLoadData", c.byref(self.modules[name]), path.read_bytes())
        if not self.modules[name]:
            return None
        function = c.c_void_p()
        self.call("cuModuleGetFunction", c.byref(function), self.modules[name], kernel.encode())
        return function

    def launch(self, name, kernel, arguments, groups, group):
        """Arguments are tensors and numpy's scalars, in the order of the kernel's parameters."""
        function = self.function(name, kernel)
        if function is None:
            return None
        values = [c.c_void_p(a.data_ptr()) if self.torch.is_tensor(a) else VALUES[a.dtype](a.item()) for a in arguments]
        addresses = (c.c_void_p * len(values))(*[c.addressof(v) for v in values])
        stream = c.c_void_p(self.torch.cuda.current_stream().cuda_stream)

        def start():
            self.call("cuLaunchKernel", function, *groups, *group, 0, stream, addresses, None)
        start.keep = arguments, values
        return start
