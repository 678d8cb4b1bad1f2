"""Parts of placewright.apply().

    plan_files      a plan's files as ops with devices, inputs, collectives
    op_schemas      what operators alias and write
    order           ops, collectives and transfers in one order for all ranks
    places          which of the plan's devices each rank has
    device_ops      a device's own operators in the place of recorded ones
    exchanges       collectives and transfers by torch.distributed
    own_ops         operators of compiled steps that are not ATen's
    counted_draws   random numbers that count
    in_place        ops that write over what nothing reads later
    rank_code       the step of one rank as Python source
    numbers         numbers that change between steps
    pieces          tensors cut into pieces, and put together again
    own_update      the update by the user's optimizer class
    shares          which samples of the batch a rank is given
    state           the training's state in the user's form, and in checkpoints
    checkpoints     torch.distributed.checkpoint in pieces
    meeting         what ranks say to each other outside of a step
    watch           whether the other ranks are still there
    checks          whether a plan is one of this model and this optimizer
    errors          what is refused
"""
