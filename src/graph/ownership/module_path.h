// Paths in the tree of modules: "m.encoder.layer.0" (ATen) or "/layer1/conv" (ONNX).
#ifndef PLACEWRIGHT_GRAPH_OWNERSHIP_MODULE_PATH_H_
#define PLACEWRIGHT_GRAPH_OWNERSHIP_MODULE_PATH_H_

#include <string_view>

namespace placewright {

// The path without its last component; "" above the top. ParentModule("m.a.b") = "m.a".
std::string_view ParentModule(std::string_view path);

// The longest path that is equal to, or an ancestor of, both: whole components only.
// CommonModule("m.layer.1", "m.layer.12") = "m.layer".
std::string_view CommonModule(std::string_view a, std::string_view b);

// True if `path` is `ancestor` or lies below it; everything lies below the root, "".
bool IsWithinModule(std::string_view path, std::string_view ancestor);

// The module that owns a parameter, by the parameter's name without its "param:" or like prefix:
// ModuleOfParameter("param:m.fc.weight") = "m.fc"; "" for a name of one component.
std::string_view ModuleOfParameter(std::string_view tensor_name);

// The path up to its first component that counts modules alike, of lists ("layers.3") or by name ("layer_3"); where none
// does, of names as "layer3" the first that has something within: LayerOf("m.layers.3.mlp.up") = "m.layers.3",
// LayerOf("h3.attn.qkv") = "h3", LayerOf("m.fc1") = "".
std::string_view LayerOf(std::string_view path);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_OWNERSHIP_MODULE_PATH_H_
