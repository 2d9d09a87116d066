"""The version of the package, that of the library it is made with (a test compares it with meson.build)."""

__version__ = "0.2.0"
