// What the current tab tells the frame: the sentence above it.
class Page {
  sentence = $state("");
}

export const page = new Page();
