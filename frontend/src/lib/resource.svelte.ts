// Asynchronous data that is loaded again when the state it depends on changes. Call `resource` while a component is
// initialized.
import { ApiError } from "./api";

export interface Resource<T> {
  readonly value: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
}

/** `load` gets a signal that is aborted when its result is no longer needed; it returns null to load nothing. */
export function resource<T>(load: (signal: AbortSignal) => Promise<T> | null): Resource<T> {
  let value = $state.raw<T>();
  let error = $state.raw<ApiError>();
  let loading = $state(true);
  $effect(() => {
    const controller = new AbortController();
    const promise = load(controller.signal);
    error = undefined;
    loading = promise !== null;
    if (promise === null) value = undefined;
    promise?.then(
      (result) => {
        if (controller.signal.aborted) return;
        value = result;
        loading = false;
      },
      (reason) => {
        if (controller.signal.aborted) return;
        value = undefined;
        loading = false;
        error = reason instanceof ApiError ? reason : new ApiError(0, String(reason?.message ?? reason));
      },
    );
    return () => controller.abort();
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
