/** The URL of a module in the same folder: `.ts` in the source tree, `.js` in the bundle, which has one folder. */
export function siblingModule(name: string, moduleUrl: string): URL {
  return new URL(`./${name}${moduleUrl.slice(moduleUrl.lastIndexOf('.'))}`, moduleUrl)
}
