/** "Chrome, Windows": enough to know one's own device again. undefined = not a browser that is known. */
export function deviceName(userAgent: string | null): string | undefined {
  if (userAgent === null) return undefined
  const find = (table: readonly (readonly [RegExp, string])[]) => table.find(([form]) => form.test(userAgent))?.[1]
  const parts = [find(browsers), find(systems)].filter(one => one !== undefined)
  return parts.length > 0 ? parts.join(', ') : userAgent.slice(0, 60)
}

/** The first that fits: many name their forebears too. */
const browsers = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const
const systems = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
] as const
