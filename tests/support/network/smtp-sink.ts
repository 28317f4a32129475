/** A mail server that keeps what it is sent (RFC 5321, as far as a submission needs it). */

/** One mail as it came over the wire. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Head and text. */
  readonly data: string
}

interface Session {
  text: string
  from: string
  to: string[]
  isInData: boolean
}

/** Refuses the first `refusals` mails with 451. */
export function startSmtpSink({ refusals = 0 }: { refusals?: number } = {}) {
  const received: ReceivedMail[] = []
  let refusing = refusals
  const answer = (session: Session, line: string): string => {
    const address = /<([^>]*)>/.exec(line)?.[1] ?? ''
    switch (line.slice(0, 4).toUpperCase()) {
      case 'MAIL':
        session.from = address
        session.to = []
        return '250 ok'
      case 'RCPT':
        session.to.push(address)
        return '250 ok'
      case 'DATA':
        session.isInData = true
        return '354 go on'
      case 'STAR':
        return '502 there is no TLS here'
      case 'QUIT':
        return '221 bye'
      default:
        return '250 ok'
    }
  }
  const take = (session: Session): string => {
    const end = session.text.indexOf('\r\n.\r\n')
    if (end < 0) return ''
    const data = session.text.slice(0, end)
    session.text = session.text.slice(end + 5)
    session.isInData = false
    if (refusing-- > 0) return '451 try again later\r\n'
    received.push({ from: session.from, to: session.to, data })
    return '250 taken\r\n'
  }
  const server = Bun.listen<Session>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { text: '', from: '', to: [], isInData: false }
        socket.write('220 sink\r\n')
      },
      data(socket, bytes) {
        const session = socket.data
        session.text += bytes.toString()
        for (;;) {
          if (session.isInData) {
            const said = take(session)
            if (said === '') return
            socket.write(said)
            continue
          }
          const end = session.text.indexOf('\r\n')
          if (end < 0) return
          const line = session.text.slice(0, end)
          session.text = session.text.slice(end + 2)
          socket.write(`${answer(session, line)}\r\n`)
        }
      },
    },
  })
  return { port: server.port, received, stop: () => server.stop(true) }
}
