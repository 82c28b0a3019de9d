"""A stand-in for PyTorch, just large enough for `import sie_server.main`.

sie-server imports torch when it starts. Its weightless engine and its remote profiles, which are all this stage
serves, never compute with it, and the real package is several gigabytes. Whatever is not written down here is an
inert object that answers every attribute and call with itself.
"""

import importlib.abc
import importlib.machinery
import sys
import types

__version__ = "2.9.1"
__path__ = []


class Inert:
    """Has every attribute, accepts every call, does nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args, **kwargs):
        decorates = len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType)
        return args[0] if decorates else self

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


_INERT = Inert()


class OutOfMemoryError(RuntimeError):
    """Caught by name in the server's out-of-memory ladder; never raised here."""


class Tensor:
    """Only ever named in annotations and isinstance checks."""


class Module:
    """Base class of adapters that this stage does not load."""


class device:
    """The server asks a device only for its type."""

    def __init__(self, name="cpu", index=None):
        self.type, self.index = str(name).partition(":")[0], index


class _Submodule(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _KNOWN.get(f"{self.__name__}.{name}", _INERT)


# The questions whose answer decides what the server does: there is no accelerator.
_KNOWN = {
    "torch.cuda.is_available": lambda: False,
    "torch.cuda.device_count": lambda: 0,
    "torch.cuda.is_initialized": lambda: False,
    "torch.cuda.OutOfMemoryError": OutOfMemoryError,
    "torch.nn.Module": Module,
    "torch.version.cuda": None,
    "torch.version.hip": None,
    "torch.xpu.is_available": lambda: False,
    "torch.mps.is_available": lambda: False,
    "torch.backends.mps": types.SimpleNamespace(is_available=lambda: False, is_built=lambda: False),
}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes `import torch.anything` succeed."""

    def find_spec(self, name, path, target=None):
        if name.startswith("torch."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Submodule(spec.name)

    def exec_module(self, module):
        return None


sys.meta_path.append(_Finder())


def get_num_threads():
    return 1


def is_tensor(value):
    return False


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name in ("cuda", "nn", "version", "xpu", "mps", "backends"):
        return importlib.import_module(f"torch.{name}")
    return _INERT
