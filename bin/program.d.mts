/** Fills the folder `draft` with the whole program, all packages joined in. Throws where Bun cannot. */
export function joinAll(bun: string, draft: string): void

/** The file for `bun` to run: the bundle of the present sources, which is made where it is missing, or the sources. */
export function programPath(bun: string): string
