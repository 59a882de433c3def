"""Runs kernels of a Metal source through libtombac in this process: what `tombac run` has no word for, buffers that hold
addresses of others (Metal's argument buffers), and programs that launch many kernels.

Values bound to buffers: an array (a buffer that the kernel may write; read back if it is among the outputs), a NumPy
number or bytes (a copy, as setBytes), or Addresses of arrays."""
import ctypes as c
import os

import numpy as np

from kit import Failure, first_error

MATH = {"fast": 0, "relaxed": 1, "safe": 2}


class Size3(c.Structure):
    _fields_ = [("x", c.c_uint32), ("y", c.c_uint32), ("z", c.c_uint32)]


class Options(c.Structure):
    _fields_ = [("standard", c.c_char_p), ("math", c.c_int), ("defines", c.POINTER(c.c_char_p)), ("define_count", c.c_size_t),
                ("folders", c.POINTER(c.c_char_p)), ("folder_count", c.c_size_t), ("no_cache", c.c_bool),
                ("no_specialise", c.c_bool), ("debug", c.c_bool)]


class Constant(c.Structure):
    _fields_ = [("name", c.c_char_p), ("index", c.c_uint32), ("data", c.c_void_p), ("size", c.c_size_t)]


class Addresses:
    """A buffer of pointers to arrays; None is a null pointer."""
    def __init__(self, arrays):
        self.arrays = list(arrays)


def size3(values):
    return Size3(*(list(values) + [1, 1])[:3])


def texts(values):
    return (c.c_char_p * max(1, len(values)))(*[str(v).encode() for v in values])


class Direct:
    """A source on a device. `text` instead of `source`: the source itself; `beside`: one on whose device it shall be."""
    def __init__(self, tombac, device, source=None, text=None, standard=None, math="fast", folders=(), defines=(), beside=None):
        self.lib = c.CDLL(os.path.join(os.path.dirname(os.path.abspath(tombac)), "..", "lib", "libtombac.so"))
        for name in ("tombac_error_message", "tombac_kernel_reflection_json", "tombac_library_kernel_name"):
            getattr(self.lib, name).restype = c.c_char_p
        for name in ("tombac_buffer_contents",):
            getattr(self.lib, name).restype = c.c_void_p
        self.kernels, self.races = {}, []
        self.device, self.library = beside.device if beside else c.c_void_p(), c.c_void_p()
        if not beside:
            self.call("device_open", device.encode(), c.byref(self.device))
        options = Options(standard.encode() if standard else None, MATH[math], texts(defines), len(defines), texts(folders),
                          len(folders))
        if text is None:
            self.call("library_create_from_file", self.device, str(source).encode(), c.byref(options), c.byref(self.library))
        else:
            data = text.encode()
            self.call("library_create_from_source", self.device, None, data, c.c_size_t(len(data)), c.byref(options),
                      c.byref(self.library))

    def call(self, name, *arguments):
        error = c.c_void_p()
        if getattr(self.lib, "tombac_" + name)(*arguments, c.byref(error)):
            message = self.lib.tombac_error_message(error).decode()
            self.lib.tombac_error_release(error)
            raise Failure(first_error(message, 500))

    def kernel(self, name, constants):
        key = (name, tuple(sorted((n, v.tobytes()) for n, v in constants.items())))
        if key not in self.kernels:
            values = {n: np.ascontiguousarray(v) for n, v in constants.items()}
            table = (Constant * max(1, len(values)))(*[Constant(n.encode(), 0, v.ctypes.data, v.nbytes) for n, v in values.items()])
            kernel = c.c_void_p()
            self.call("kernel_create", self.library, name.encode(), table, c.c_size_t(len(values)), c.byref(kernel))
            self.kernels[key] = kernel
        return self.kernels[key]

    def buffer(self, data):
        buffer = c.c_void_p()
        data = np.ascontiguousarray(data)
        self.call("buffer_create", self.device, c.c_size_t(data.nbytes), c.c_void_p(data.ctypes.data), c.byref(buffer))
        return buffer

    def contents(self, buffer):
        return self.lib.tombac_buffer_contents(buffer)

    def bind(self, launch, index, value, buffers, pointed):
        if isinstance(value, Addresses):
            for array in value.arrays:
                if array is not None and id(array) not in pointed:
                    pointed[id(array)] = array, self.buffer(array)
            value = np.array([0 if a is None else self.contents(pointed[id(a)][1]) for a in value.arrays], np.uint64)
        if isinstance(value, np.ndarray):
            buffers[index] = self.buffer(value)
            self.call("launch_set_buffer", launch, c.c_uint32(index), buffers[index], c.c_size_t(0))
        else:
            data = value if isinstance(value, bytes) else value.tobytes()
            self.call("launch_set_bytes", launch, c.c_uint32(index), data, c.c_size_t(len(data)))

    def copy_back(self, buffer, array):
        data = c.string_at(self.contents(buffer), array.nbytes) if array.nbytes else b""
        return np.frombuffer(data, array.dtype).reshape(array.shape).copy()

    def finish(self, launch):
        """A race is noted, and the kernel run again without the search; it must not update what it reads."""
        try:
            self.call("launch_submit", launch)
            self.call("launch_wait", launch)
        except Failure as failure:
            if "data race" not in str(failure):
                raise
            self.races.append(str(failure))
            os.environ["TOMBAC_RACES"] = "0"
            try:
                self.call("launch_submit", launch)
                self.call("launch_wait", launch)
            finally:
                del os.environ["TOMBAC_RACES"]

    def run(self, kernel, arguments, groups=None, grid=None, group=(32, 1, 1), constants=None, threadgroup=None, outputs=()):
        """As Kit.run. Arrays behind Addresses are changed in place."""
        launch, buffers, pointed = c.c_void_p(), {}, {}
        handle = self.kernel(kernel, constants or {})
        self.call("launch_create", handle, c.byref(launch))
        try:
            for index, value in arguments.items():
                self.bind(launch, index, value, buffers, pointed)
            for index, size in (threadgroup or {}).items():
                self.call("launch_set_threadgroup_memory", launch, c.c_uint32(index), c.c_size_t(size))
            if groups is not None:
                self.call("launch_set_threadgroups", launch, size3(groups), size3(group))
            else:
                self.call("launch_set_threads", launch, size3(grid), size3(group))
            self.finish(launch)
            for array, buffer in pointed.values():
                array[...] = self.copy_back(buffer, array)
            return [self.copy_back(buffers[i], arguments[i]) for i in outputs]
        finally:
            self.lib.tombac_launch_release(launch)
            for buffer in [*buffers.values(), *(b for _, b in pointed.values())]:
                self.lib.tombac_buffer_release(buffer)
