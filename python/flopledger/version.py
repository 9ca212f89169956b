"""The version of the package, which is that of the program: meson.build has it, too, and a test compares them."""

VERSION = "0.1.0"
