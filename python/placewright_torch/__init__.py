"""Recording of PyTorch steps for Placewright; `placewright_export` is the way in.

    step         one step from end to end: forward, loss, backward, update
    rebatch      a step at three batch sizes, and the proof of how it follows them
    resized      example inputs of another batch size
    batch_laws   the comparison of the three, and the laws that it proves
    batch_products  numbers in proportion to products of terms linear in the batch
    building     models built without memory, whose code looks at numbers it has computed
    devices      devices that count as the host
    wrappers     DDP, FSDP and their kin, unwrapped
    remedies     what helps when a function that builds a step fails
    fakes        the model and its inputs without weights, and back again
    originals    parameters that hooks and closures hold, taken for their fakes
    kept         what hooks of the optimizer change, put back
    changing_numbers  hyper-parameters and counters as inputs, with formulas
    update       the optimizer without weights, its state as inputs, lists of tensors split
    recorder     what PyTorch calls below autograd, as records of ops
    constants    content that is one number, which the step makes itself
    operators    what is known of operators, besides their schemas
    shapes       shapes of operators that PyTorch does not know without computing
    hf           models of transformers from their configurations
    progress     what a long recording says of itself
    assumptions  what PyTorch's functions read from tensors only to check it
    checks       what answers a step that asks a tensor for values
    conditions   which answer makes a condition of the program true
    known        tensors whose elements are all one number that is known
    samples      loops over samples whose pieces are joined again
    packed       sequences that lie behind one another in a sample
    memos        what the code of a step remembers for the next one
    attention    attention as fused operators
    stored       frozen weights in 4 and 8 bits
    sparse       gradients of embeddings built with sparse=True
    loss_scaling GradScaler without data
    switches     which switch of a library helps where a step is refused
    choices      what a user may choose about a recording
    memory       which tensors share memory, and which op wrote it last
    lifetimes    how long PyTorch keeps what a step makes
    aten_file    the records as a file
    compat       everything that differs between PyTorch 1.13 and 2.x
    errors       what can go wrong
"""
