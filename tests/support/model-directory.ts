/** Model directories for tests of parts. */

/** One in which every caller and team has the same models: these. */
export function sharedByAll<Models extends object>(models: Models): Models & { of(): Models; ofTeam(): Models } {
  const view = { ...models, of: () => view, ofTeam: () => view }
  return view
}
