"""Recording of PyTorch steps for Placewright; `placewright_export` is the way in.

    step       one step from end to end: forward, loss, backward, update
    fakes      the model and its inputs without weights, and back again
    update     the optimizer without weights, its state as inputs, lists of tensors split
    recorder   what PyTorch calls below autograd, as records of ops
    operators  what is known of operators, besides their schemas
    memory     which tensors share memory, and who wrote it last
    aten_file  the records as a file
    compat     everything that differs between PyTorch 1.13 and 2.x
    errors     what can go wrong
"""
