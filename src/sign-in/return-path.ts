/** Where a browser may be sent after it has signed in: to pages of the gateway alone. */

const lengthMax = 2000
const own = 'https://own.invalid'

/** The path as it was given; undefined = it is none, or a browser would take it for another host. */
export function returnPath(text: string | null | undefined): string | undefined {
  if (!text || text.length > lengthMax || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text) || text.includes('\\'))
    return undefined
  return URL.canParse(text, own) && new URL(text, own).origin === own ? text : undefined
}
