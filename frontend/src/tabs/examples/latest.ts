// The example that was shown last, to clear its pinned token when another one opens.
export const latest: { item: string | null } = { item: null };
