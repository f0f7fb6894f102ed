#include "support/isa_rows.hpp"

#include <fstream>
#include <sstream>

namespace aql::test {

const std::vector<IsaRow>& isa_rows() {
  static const std::vector<IsaRow> rows = [] {
    std::vector<IsaRow> all;
    std::ifstream file(AQL_TEST_DATA_DIR "/isa/rows.tsv");
    std::string line;
    std::getline(file, line); // where it comes from
    std::getline(file, line); // column names
    while (std::getline(file, line)) {
      std::stringstream fields(line);
      std::string targets, opcode, words;
      IsaRow row;
      std::getline(fields, targets, '\t');
      std::getline(fields, row.format, '\t');
      std::getline(fields, opcode, '\t');
      std::getline(fields, row.mnemonic, '\t');
      std::getline(fields, row.example, '\t');
      std::getline(fields, words, '\t');
      row.targets = static_cast<std::uint8_t>(std::stoul(targets));
      row.opcode = static_cast<unsigned>(std::stoul(opcode));
      std::stringstream word_list(words);
      for (std::string word; word_list >> word;) row.words.push_back(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
      all.push_back(std::move(row));
    }
    return all;
  }();
  return rows;
}

std::string base_mnemonic(std::string name) {
  for (const char* suffix : {"_e32", "_e64", "_sdwa", "_dpp"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.rfind('_'));
  }
  return name;
}

} // namespace aql::test
