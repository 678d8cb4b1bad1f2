// An embedding by parts of its vocabulary, for LibTorch: library "placewright".
//
//   embedding_part(weight, indices, place)  rows of the part where indices ask for them, else zeros: the
//                                           sum over all parts is the embedding
//   embedding_dense_backward_part(grad, indices, num_weights, padding_idx, place)  the part's rows of the
//                                           gradient, num_weights of them; padding_idx gives none
//
// indices and padding_idx are those of the whole vocabulary. `place` is [0, outer, size, from, to]: all rows
// are outer * size * inner, and the part has [from, to) of the middle factor. An index outside of the
// vocabulary is an error, as an embedding's is, where indices are on the host.
//
// Source: Shoeybi et al. 2019, "Megatron-LM", section 3 (the parallel input embedding).
#ifndef PLACEWRIGHT_RUNTIME_OPS_VOCABULARY_OPS_H_
#define PLACEWRIGHT_RUNTIME_OPS_VOCABULARY_OPS_H_

namespace placewright {

// Once in a process; further calls do nothing.
void RegisterVocabularyOps();

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_OPS_VOCABULARY_OPS_H_
