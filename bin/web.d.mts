/** Where the built pages are, or will be; undefined = this installation has none. */
export function webDirectory(): string | undefined
/** Makes the pages where they are missing. Resolves with their folder; rejects with the reason they were not made. */
export function ensureWeb(directory?: string): Promise<string>
/** Builds the pages into the folder `target`, which is replaced. `development` = with the page of all parts. */
export function makeWeb(target: string, options?: { development?: boolean }): Promise<void>
