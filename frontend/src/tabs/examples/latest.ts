// The example that was shown last: what was pinned on it does not hold for the next.
export const latest: { item: string | null } = { item: null };
