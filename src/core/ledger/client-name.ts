/** The name of a client, without its version. */
const clientNameLengthMax = 64

/** `OpenAI/Python` of `OpenAI/Python 2.1.0`, `curl` of `curl/8.5.0`; null = the client does not say. */
export function clientName(userAgent: string): string | null {
  const end = userAgent.indexOf(' ')
  const product = end < 0 ? userAgent : userAgent.slice(0, end)
  const slash = product.lastIndexOf('/')
  const digit = slash < 0 ? 0 : product.charCodeAt(slash + 1)
  const name = digit >= 48 && digit <= 57 ? product.slice(0, slash) : product
  return name.slice(0, clientNameLengthMax) || null
}
