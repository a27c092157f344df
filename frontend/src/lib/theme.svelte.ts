// Dark and light are equals: as the system says, until the reader chooses.
export type Theme = "light" | "dark";

const KEY = "headatlas-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function chosen(): Theme | null {
  try {
    const there = localStorage.getItem(KEY);
    return there === "light" || there === "dark" ? there : null;
  } catch {
    return null; // storage may be forbidden
  }
}

class Look {
  current = $state<Theme>(chosen() ?? (dark.matches ? "dark" : "light"));

  constructor() {
    this.show();
    dark.addEventListener("change", () => {
      if (chosen() === null) this.set(dark.matches ? "dark" : "light", false);
    });
  }

  set(theme: Theme, remember = true) {
    this.current = theme;
    this.show();
    try {
      if (remember) localStorage.setItem(KEY, theme);
    } catch {
      // it holds until the page is closed
    }
  }

  toggle() {
    this.set(this.current === "dark" ? "light" : "dark");
  }

  private show() {
    document.documentElement.dataset.theme = this.current;
  }
}

export const theme = new Look();
