/** What a model is told when a conversation is compacted, in the words of no dialect. */

/** Asks for the summary that takes the conversation's place. `openCalls` wait for a result, as `name(arguments)`. */
export function summaryTask(openCalls: readonly string[], more = ''): string {
  const open =
    openCalls.length > 0
      ? `These tool calls still wait for their results; name each of them and what it is for: ${openCalls.join('; ')}\n`
      : ''
  return (
    'The context of this conversation is full. Write the summary that takes its place: whoever continues the work ' +
    'sees the summary alone, so leave out nothing that the work needs. Do not continue the work itself and call no ' +
    'tools. Write under these headings, and keep names, paths, numbers, commands and quoted texts exactly as they ' +
    'are:\n' +
    '1. Task: what the user wants, with every requirement and correction, in the words of the user.\n' +
    '2. Decisions: what was decided and why, and what was ruled out.\n' +
    '3. Files and data: what was read, made or changed, where, and its state now.\n' +
    '4. Done: steps that are finished, with their results, errors included.\n' +
    '5. Open: tool calls without a result, questions without an answer, and the next step.\n' +
    open +
    more
  ).trim()
}

/** The message that stands for what was compacted. It ends a line: some upstreams get it and the next text as one. */
export function compactedText(summary: string): string {
  return (
    'The conversation before this message was compacted. This is its summary; go on from here as if you had read ' +
    `all of it.\n\n<summary>\n${summary}\n</summary>\n`
  )
}
