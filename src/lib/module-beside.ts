/** A module in the folder of another: `.ts` among the sources, `.js` in the bundle, where all of them lie side by side. */
export function moduleBeside(name: string, moduleUrl: string): URL {
  return new URL(`./${name}${moduleUrl.slice(moduleUrl.lastIndexOf('.'))}`, moduleUrl)
}
