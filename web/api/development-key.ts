/**
 * Only in a development build: a key in this page's memory, for work on pages against a gateway where signing in is
 * switched off or broken. Other builds hold none of this: what script can read, a stolen script can send away.
 */
let key = ''

/** The page forgets it when it is loaded anew. */
export function setDevelopmentKey(text: string): void {
  if (import.meta.env.DEV || import.meta.env.MODE === 'development') key = text
}

export function developmentHeaders(): Record<string, string> {
  return key === '' ? {} : { authorization: `Bearer ${key}` }
}
