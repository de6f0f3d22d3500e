#include "worker/columns.h"

#include <mupdf/ucdn.h>

namespace quern::worker {

int columns_of(char32_t c) {
  if (c < 0x300) return 1;
  const int category = ::ucdn_get_general_category(c);
  if (category == UCDN_GENERAL_CATEGORY_MN || category == UCDN_GENERAL_CATEGORY_ME ||
      category == UCDN_GENERAL_CATEGORY_CF) {
    return 0;
  }
  const int width = ::ucdn_get_east_asian_width(c);
  return width == UCDN_EAST_ASIAN_W || width == UCDN_EAST_ASIAN_F ? 2 : 1;
}

}  // namespace quern::worker
