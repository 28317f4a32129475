/** Fills the folder `draft` with the whole program, all packages joined in. Throws where Bun cannot. */
export function joinAll(bun: string, draft: string): void
