"""The shape of every JSON response, by subject. The page's TypeScript types are generated from these.

Unknown numbers are null, never NaN. Payloads hold no addresses: `endpoints` declares them, and the page builds them
with the generated `paths.ts`.
"""
