// What the current tab reports to the frame.
class Page {
  sentence = $state("");
}

export const page = new Page();
