/** What an honest client of the attack bench is: one connection that asks one request after another. */
import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** A request that is not answered within this time counts as answered after it. */
export const answerMs = 5000

/** A small call of the model `small`. */
export function smallCall(key: string): string {
  const body = '{"model":"small","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}'
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
}

export class Client {
  readonly #socket: Socket
  #heard = ''
  #waiting: ((status: number) => void) | undefined

  /** `connected` is told the local port. */
  constructor(port: number, connected: (localPort: number) => void) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('connect', () => connected(this.#socket.localPort!))
    this.#socket.on('data', bytes => this.#data(bytes.toString('latin1')))
    for (const event of ['error', 'close', 'end']) this.#socket.on(event, () => this.#answered(0))
  }

  /** The status of the answer; 0 = the connection was cut, or nothing came. */
  ask(request: string): Promise<number> {
    return new Promise(resolve => {
      const timer = setTimeout(() => this.#answered(0), answerMs)
      this.#waiting = status => {
        clearTimeout(timer)
        resolve(status)
      }
      this.#heard = ''
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #data(text: string): void {
    this.#heard += text
    const head = this.#heard.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/content-length: (\d+)/.exec(this.#heard)?.[1] ?? 0)
    if (this.#heard.length >= head + 4 + length) this.#answered(Number(this.#heard.slice(9, 12)))
  }

  #answered(status: number): void {
    this.#waiting?.(status)
    this.#waiting = undefined
  }
}
