// The color theme: that of the system until the user chooses one.
export type Theme = "light" | "dark";

const KEY = "headatlas-theme";
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const systemTheme = (): Theme => (systemDark.matches ? "dark" : "light");

function storedTheme(): Theme | null {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : null;
  } catch {
    return null; // storage may be disabled
  }
}

class ThemeState {
  current = $state<Theme>(storedTheme() ?? systemTheme());

  constructor() {
    this.apply();
    systemDark.addEventListener("change", () => {
      if (storedTheme() === null) this.set(systemTheme(), false);
    });
  }

  set(theme: Theme, remember = true) {
    this.current = theme;
    this.apply();
    try {
      if (remember) localStorage.setItem(KEY, theme);
    } catch {
      // the choice lasts until the page is closed
    }
  }

  toggle() {
    this.set(this.current === "dark" ? "light" : "dark");
  }

  private apply() {
    document.documentElement.dataset.theme = this.current;
  }
}

export const theme = new ThemeState();
