// What the current tab passes to the frame: the sentence above it.
class Page {
  sentence = $state("");
}

export const page = new Page();
