#include "layers.h"

#include <fstream>
#include <regex>
#include <sstream>

namespace placewright {
namespace {

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

void Close(LayerTable& table) {
  for (bool grown = true; grown;) {
    grown = false;
    for (auto& [name, row] : table) {
      const std::set<std::string> direct = row.may;
      for (const std::string& used : direct) {
        const auto it = table.find(used);
        if (it == table.end()) continue;
        for (const std::string& deep : it->second.may) grown |= row.may.insert(deep).second;
      }
    }
  }
}

bool IsTorchHeader(const std::string& path) {
  static const std::regex pattern("^(torch|ATen|c10|caffe2|torchvision)/.*");
  return std::regex_match(path, pattern);
}

}  // namespace

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

LayerTable ParseLayerTable(std::string_view markdown) {
  LayerTable table;
  const std::regex row_pattern(R"(^\| `([a-z_]+)`(\*?) \|.*\| ([^|]*) \|$)");
  std::istringstream lines{std::string(markdown)};
  std::vector<std::string> unlimited;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row_pattern)) continue;
    TableRow& row = table[match[1]];
    row.torch = match[2] == "*";
    row.may.insert(match[1]);
    for (const std::string& word : Words(match[3])) {
      if (word == "all") unlimited.push_back(match[1]);
      row.may.insert(word);
    }
  }
  for (const std::string& name : unlimited) {
    for (const auto& [other, row] : table) {
      if (!row.torch) table[name].may.insert(other);
    }
  }
  Close(table);
  return table;
}

std::vector<std::string> LayerViolations(const LayerTable& table, const std::string& module,
                                         std::string_view file_name, std::string_view source) {
  const std::regex include_pattern(R"(^\s*#\s*include\s*["<]([^">]+)[">].*)");
  const TableRow& row = table.at(module);
  std::vector<std::string> violations;
  std::istringstream lines{std::string(source)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch match;
    if (!std::regex_match(line, match, include_pattern)) continue;
    const std::string path = match[1];
    const std::string place = std::string(file_name) + ":" + std::to_string(number) + ": ";
    if (IsTorchHeader(path) && !row.torch) {
      violations.push_back(place + module + " may not include LibTorch");
    }
    const std::string folder = path.substr(0, path.find('/'));
    if (table.count(folder) != 0 && row.may.count(folder) == 0) {
      violations.push_back(place + module + " may not include " + folder);
    }
  }
  return violations;
}

}  // namespace placewright
