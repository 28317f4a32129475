/**
 * When JavaScriptCore compiles what a thread runs. What is compiled stays, so a gateway starts with compilers that wait
 * (`gatewaySettings` of `bin/bun.mjs`), and each of its threads says what holds once it has started.
 *
 * Gain: 70 MB in place of 76 just started, 110 in place of 123 after calls, translated calls and streams, and a seventh
 * of the processor time of a start. In the first second of load as many requests as without it (docs/decisions/0005).
 */

/** As by default: for threads that end soon, and whose work is the same all the time. */
export function compileAsUsual(): void {
  Bun.unsafe.setJITPolicy(1)
}

/**
 * A function is compiled when it has run eight times as often as by default, some 300 times: what belongs to each call
 * is within a second of load, what runs now and then stays with the interpreter.
 */
export function compileForServing(): void {
  Bun.unsafe.setJITPolicy(8)
}
