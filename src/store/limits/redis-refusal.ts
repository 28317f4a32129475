/** Why Redis refuses a connection: Bun's client closes it then and does not pass the reason on. */

const deadlineMs = 500
const portDefault = 6379

/**
 * Connects once without the client: Redis' own error (`NOAUTH ...`, `WRONGPASS ...`), or the system's (`ECONNREFUSED`).
 * undefined = Redis accepted this time, or the URL has no host and port. Never holds the password. Never rejects.
 * The protocol: redis.io/docs/latest/develop/reference/protocol-spec.
 */
export async function refusalOfRedis(url: string): Promise<string | undefined> {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname, port, username, password } = new URL(url)
  const scheme = /^(?:redis|valkey)(s?):$/.exec(protocol)
  if (!scheme) return undefined
  const credentials = [username, password].map(plain).filter(part => part !== '')
  const authentication = password === '' ? [] : [['AUTH', ...credentials]]
  const address = { hostname: hostname.replace(/^\[|\]$/g, ''), port: Number(port || portDefault) }
  return ask(address, scheme[1] === 's', [...authentication, ['PING']].map(command).join(''))
}

async function ask(
  address: { hostname: string; port: number },
  tls: boolean,
  question: string,
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const timer = setTimeout(() => resolve(`timeout: no answer within ${deadlineMs} ms`), deadlineMs)
  let answer = ''
  const connecting = Bun.connect({
    ...address,
    tls,
    socket: {
      // Over TLS `open` comes before the handshake; the runtime keeps what is written until it is done.
      open: socket => void socket.write(question),
      data(_socket, piece) {
        answer += piece.toString('latin1')
        const refusal = /^-([^\r]*)\r\n/m.exec(answer)?.[1]
        if (refusal !== undefined || answer.includes('+PONG\r\n')) resolve(refusal)
      },
      close: () => resolve('Redis closed the connection without a word'),
      error: (_socket, error) => resolve(reasonOf(error)),
    },
  })
  connecting.catch((error: unknown) => resolve(reasonOf(error)))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    connecting.then(
      socket => void socket.end(),
      () => {},
    )
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string }
  return code ?? message ?? String(error)
}

/** A part of an address; a percent sign that escapes nothing stands for itself. */
function plain(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function command(parts: readonly string[]): string {
  return `*${parts.length}\r\n${parts.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`
}
