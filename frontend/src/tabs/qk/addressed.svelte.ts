// State that changes many times per second, such as a camera, and is part of the address, which is updated when it stops.
import { route } from "../../lib/route.svelte";
import { tooltip } from "../../lib/tooltip.svelte";

const PAUSE = 250; // milliseconds

/** The value of a parameter of the address; null: none. Call while a component is initialized. */
export function addressed<T>(name: string, read: (text: string | undefined) => T | null, write: (value: T) => string) {
  let value = $state.raw<T | null>(null);
  let written: string | undefined;
  let timer = 0;
  $effect.pre(() => {
    const text = route.params[name];
    if (text !== written) value = read(text);
    written = text;
  });
  $effect(() => () => clearTimeout(timer));
  return {
    get current() {
      return value;
    },
    set current(next: T | null) {
      value = next;
      tooltip.hide();
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        written = next === null ? undefined : write(next);
        route.go({ params: { [name]: written } }, { replace: true });
      }, PAUSE);
    },
  };
}
