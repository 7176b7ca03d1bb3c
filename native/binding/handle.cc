#include "handle.h"

namespace srp::binding {

const napi_type_tag Handle::tag = {0x7372705f68616e64, 0x6c655f6d656d6f72};
const napi_type_tag Event::tag = {0x7372705f6576656e, 0x745f6d61726b6564};
const napi_type_tag Graph::tag = {0x7372705f67726170, 0x685f7265636f7264};

}  // namespace srp::binding
