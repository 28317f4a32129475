import { describe, expect, test } from 'bun:test'
import { eld } from 'eld/small'
import type { CheckParts, Judgement } from '../check.ts'
import { detectedLanguages, language } from './language.ts'

/** The same sentence; Indonesian is taken for Malay, which is known of it. */
const sentences: Readonly<Record<string, string>> = {
  en: 'Could you please send me the report before the meeting tomorrow?',
  de: 'Kannst du mir bitte bis morgen früh die Unterlagen schicken?',
  fr: 'Pourriez-vous m’envoyer le rapport avant la réunion de demain ?',
  es: '¿Puedes enviarme el informe antes de la reunión de mañana?',
  it: 'Potresti mandarmi il rapporto prima della riunione di domani?',
  pt: 'Você pode me enviar o relatório antes da reunião de amanhã?',
  nl: 'Kun je me het verslag voor de vergadering van morgen sturen?',
  pl: 'Czy możesz wysłać mi raport przed jutrzejszym spotkaniem?',
  sv: 'Kan du skicka rapporten till mig före mötet i morgon?',
  da: 'Kan du sende mig rapporten inden mødet i morgen?',
  no: 'Kan du sende meg rapporten før møtet i morgen?',
  fi: 'Voisitko lähettää minulle raportin ennen huomista kokousta?',
  cs: 'Mohl bys mi poslat zprávu před zítřejší schůzkou?',
  sk: 'Mohol by si mi poslať správu pred zajtrajším stretnutím?',
  hu: 'El tudnád küldeni a jelentést a holnapi megbeszélés előtt?',
  ro: 'Poți să-mi trimiți raportul înainte de ședința de mâine?',
  tr: 'Yarınki toplantıdan önce raporu bana gönderebilir misin?',
  id: 'Bisakah kamu mengirimkan laporan sebelum rapat besok?',
  ms: 'Bolehkah awak hantar laporan itu sebelum mesyuarat esok?',
  vi: 'Bạn có thể gửi cho tôi báo cáo trước cuộc họp ngày mai không?',
  tl: 'Maaari mo bang ipadala sa akin ang ulat bago ang pulong bukas?',
  lt: 'Ar galėtum atsiųsti man ataskaitą prieš rytojaus susitikimą?',
  lv: 'Vai tu vari atsūtīt man ziņojumu pirms rītdienas sanāksmes?',
  et: 'Kas sa saaksid mulle aruande enne homset koosolekut saata?',
  ru: 'Можешь отправить мне отчёт до завтрашней встречи?',
  uk: 'Чи можеш надіслати мені звіт до завтрашньої зустрічі?',
  bg: 'Можеш ли да ми изпратиш доклада преди срещата утре?',
  el: 'Μπορείς να μου στείλεις την αναφορά πριν από τη συνάντηση αύριο;',
  ar: 'هل يمكنك أن ترسل لي التقرير قبل اجتماع الغد؟',
  he: 'האם תוכל לשלוח לי את הדוח לפני הפגישה מחר?',
  hi: 'क्या आप मुझे कल की बैठक से पहले रिपोर्ट भेज सकते हैं?',
  ja: '明日の会議の前に報告書を送ってくれますか？',
  zh: '你能在明天的会议之前把报告发给我吗？',
  ko: '내일 회의 전에 보고서를 보내 주실 수 있나요?',
  th: 'คุณช่วยส่งรายงานให้ฉันก่อนการประชุมพรุ่งนี้ได้ไหม',
  ca: 'Em podries enviar l’informe abans de la reunió de demà?',
}

const checkFor = (languages: readonly string[]) =>
  language({ settings: { name: 'l', params: { languages } } } as unknown as CheckParts)
const judge = async (languages: readonly string[], ...contents: string[]): Promise<Judgement> =>
  checkFor(languages).judge!({ stage: 'input', texts: contents, contents, prompt: '' }, {} as never)

describe('one sentence', () => {
  for (const [code, text] of Object.entries(sentences))
    test(`${code}: passes where it may be in it, is refused where it may be in another`, async () => {
      expect((await judge([code], text)).verdict).toBe('pass')
      expect((await judge([code === 'en' ? 'de' : 'en'], text)).verdict).toBe('block')
    })
})

test('a text that does not say its language passes', async () => {
  for (const text of ['Thanks!', 'OK', '2024-11-02 12:00', 'lol idk', '👍', ''])
    expect([text, (await judge(['ja'], text)).verdict]).toEqual([text, 'pass'])
})

test('a long text counts as what most of it is in, also behind its first thousand characters', async () => {
  const [english, german] = [sentences.en!.repeat(20), sentences.de!.repeat(20)]
  expect((await judge(['en'], english + german.repeat(3))).found).toEqual(['LANGUAGE_de'])
  expect((await judge(['en'], english.repeat(3) + german)).verdict).toBe('pass')
})

test('a language that is not told from others is refused in the configuration', () => {
  expect(() => checkFor(['en', 'sw'])).toThrow('is not told from others; these are: am ar az')
  expect([...detectedLanguages].sort()).toEqual(Object.values(eld.info().Languages).sort())
})
