"""flopledger's recorder: runs inside a PyTorch program, and leaves traces that the program `flopledger` reads.

Importing this does no work and does not import torch.
"""

__version__ = "0.1.0"
