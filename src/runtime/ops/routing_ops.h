// Rows of some experts, of rows that are sorted by their expert (sharding/routing.h), for LibTorch: library
// "placewright".
//
//   sort_part(keys, place)                   of all keys those of the part, ascending, and the place of each
//   histc_part(keys, bins, min, max, place)  how many of each of the part's keys there are
//   order_part_(x, [places], values, place)  x overwritten with the places: what a part has in place of the inverse of the
//                                            order
//   unsort_part(rows, [places], sizes, place)  the part's rows at their places, zeros at those of others: the sum over all
//                                            parts is all rows
//   sort_rows_part(x, [places], rows, place) of all rows those of the part, in its order
//   rows_of_keys_part(table, [keys], place)  of each of the part's rows the row of its key, as a bias of its expert, of a
//                                            table that has the part's keys alone
//   sum_by_keys_part(table, [keys], rows, accumulate, place)  such a table, to whose rows those of each key are added
//   slice_backward_part(grad, sizes, dim, start, end, step, place)  the gradient of a slice along `dim`, of as many rows as
//                                            `grad` has, whatever `sizes` says
//
// `place` is [dimension, outer, size, from, to]: of `size` keys the part has [from, to). How many rows these are follows
// from the keys; what is recorded of their number is what each key would have if all had equally many.
//
// Source: Gale et al. 2022, "MegaBlocks", section 5 (experts apart); the padding-free dispatch by AllGather of
// Megatron-LM (`--moe-token-dispatcher-type allgather`).
#ifndef PLACEWRIGHT_RUNTIME_OPS_ROUTING_OPS_H_
#define PLACEWRIGHT_RUNTIME_OPS_ROUTING_OPS_H_

namespace placewright {

// Once in a process; further calls do nothing.
void RegisterRoutingOps();

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_OPS_ROUTING_OPS_H_
