/** Addresses. All of them are relative to `<base>`, so that the pages work below any path prefix of a proxy. */

const base = new URL(document.baseURI)

/** Where the pages are: `/ui` or `/prefix/ui`, without a slash at the end. */
export const pagesPath = base.pathname.replace(/\/$/, '')

/** The address of the gateway, ending with a slash: `https://host/prefix/`. */
export const gatewayUrl = new URL('../', base).href

/** The full address of a path of the API: `apiUrl('/key/list')`. */
export function apiUrl(path: string): URL {
  return new URL(path.replace(/^\//, ''), gatewayUrl)
}
