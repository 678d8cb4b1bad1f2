// An embedding and a loss by parts of their vocabulary, for LibTorch: library "placewright".
//
//   embedding_part(weight, indices, place)  rows of the part where indices ask for them, else zeros: the
//                                           sum over all parts is the embedding
//   embedding_dense_backward_part(grad, indices, num_weights, padding_idx, place)  the part's rows of the
//                                           gradient, num_weights of them; padding_idx gives none
//
//   nll_loss_part(x, target, weight, reduction, ignore_index, place)  of a part of the classes: the losses of samples
//                                           whose targets it has, and their weight; sums over parts are the results
//   nll_loss_backward_part(grad, x, target, weight, reduction, ignore_index, total_weight, place)  the gradient of these
//                                           scores; total_weight is that of all classes
//
// indices, targets and padding_idx are those of the whole vocabulary. `place` is [dimension, outer, size, from, to], of
// losses in the dimension of classes, else in 0: all rows are outer * size * inner, and the part has [from, to) of the
// middle factor. An index outside of the
// vocabulary is an error, as an embedding's is, where indices are on the host.
//
// Source: Shoeybi et al. 2019, "Megatron-LM", section 3 (the parallel input embedding and the fused cross entropy).
#ifndef PLACEWRIGHT_RUNTIME_OPS_VOCABULARY_OPS_H_
#define PLACEWRIGHT_RUNTIME_OPS_VOCABULARY_OPS_H_

namespace placewright {

// Once in a process; further calls do nothing.
void RegisterVocabularyOps();

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_OPS_VOCABULARY_OPS_H_
