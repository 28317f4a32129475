/** Valid messages and conversations of all kinds: what splits and mutations start from. */

const ok = 'HTTP/1.1 200 OK\r\n'
const bytesOf = (texts: readonly string[]): Buffer[] => texts.map(text => Buffer.from(text, 'latin1'))

/** Answers of all framings. */
export const answerSeeds = bytesOf([
  `${ok}content-type: application/json\r\ncontent-length: 17\r\n\r\n{"id":"chatcmpl"}`,
  `${ok}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n` +
    '13\r\ndata: {"a":"\u00e9\u00e8\n"}\n\n\r\nE;x=y\r\ndata: [DONE]\n\n\r\n0\r\nx-sum: 1\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n' +
    'HTTP/1.1 429 Too Many\r\nretry-after: 3\r\nkeep-alive: timeout=5\r\ncontent-length: 2\r\n\r\nno',
  'HTTP/1.1 204 No Content\r\ndate: now\r\n\r\n',
  'HTTP/1.0 200 OK\r\nserver: old\r\n\r\nuntil the end\r\n\r\n',
])

/** Requests one after another, as a client pipelines them. */
export const conversationSeeds = bytesOf([
  'POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello\r\n\r\nabGET /b?c=d HTTP/1.1\r\nHost: x\r\n\r\n',
  'POST /chunks HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x="y"\r\n0123456789\r\n0\r\nx-sum: 1\r\n\r\n' +
    'PUT /pieces HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nwxyz',
  '\r\n\r\nGET /old HTTP/1.0\r\nconnection: keep-alive\r\n\r\n\r\nGET /later HTTP/1.1\r\nhost: x\r\n\r\nHEAD /h HTTP/1.1\r\nhost: x\r\n\r\n',
  'POST /e HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\nabcGET /stream HTTP/1.1\r\nhost: x\r\n\r\n' +
    'GET /f HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\nGET /never HTTP/1.1\r\nhost: x\r\n\r\n',
  'POST /refused HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\nGET /g HTTP/1.1\r\nhost: x\r\n\r\n',
  'GET /stream HTTP/1.0\r\n\r\n',
])

/** Bodies in chunks. */
export const chunkSeeds = bytesOf([
  '5\r\nhello\r\nA;x="y"\r\n0123456789\r\n0\r\nx-sum: 1\r\ny: 2\r\n\r\nrest',
  '0\r\n\r\n',
  '0001;a\r\nx\r\nffff',
])
