// Which elements keep the keys that are pressed in them.

/** Fields in which keys write, and lists, which Esc closes. A checkbox, a radio button or a slider is none of these. */
export const TEXT_FIELDS =
  "input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable]";
