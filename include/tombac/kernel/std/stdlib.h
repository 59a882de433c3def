#error "<stdlib.h> is a header of the host and is not supported by Tombac in kernels"
