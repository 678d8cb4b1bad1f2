"""Parts of placewright.apply().

    plan_files      a plan's files as ops with devices, inputs, collectives
    op_schemas      what operators alias and write
    order           ops, collectives and transfers in one order for all ranks
    exchanges       collectives and transfers by torch.distributed
    own_ops         operators of compiled steps that are not ATen's
    counted_draws   random numbers that count
    in_place        ops that write over what nothing reads later
    rank_code       the step of one rank as Python source
    numbers         numbers that change between steps
    pieces          tensors cut into pieces, and put together again
    checks          whether a plan is one of this model and this optimizer
    errors          what is refused
"""
