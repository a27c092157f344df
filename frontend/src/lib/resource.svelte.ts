// Something that is asked for, and asked for anew when what it depends on changes. Call it while a component begins.
import { ApiError } from "./api";

export interface Resource<T> {
  readonly value: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
}

/** `load` is given a signal that fires when the answer is no longer wanted; null asks for nothing. */
export function resource<T>(load: (signal: AbortSignal) => Promise<T> | null): Resource<T> {
  let value = $state.raw<T>();
  let error = $state.raw<ApiError>();
  let loading = $state(true);
  $effect(() => {
    const stop = new AbortController();
    const asked = load(stop.signal);
    error = undefined;
    loading = asked !== null;
    if (asked === null) value = undefined;
    asked?.then(
      (found) => {
        if (stop.signal.aborted) return;
        value = found;
        loading = false;
      },
      (problem) => {
        if (stop.signal.aborted) return;
        value = undefined;
        loading = false;
        error = problem instanceof ApiError ? problem : new ApiError(0, String(problem?.message ?? problem));
      },
    );
    return () => stop.abort();
  });
  return {
    get value() {
      return value;
    },
    get error() {
      return error;
    },
    get loading() {
      return loading;
    },
  };
}
