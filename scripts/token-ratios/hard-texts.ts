/**
 * Texts whose ratio of tokens to bytes is measured: prose of many languages (article 1 of the Universal Declaration of
 * Human Rights, and sentences of our own), code, data, and what is hard for vocabularies. The same on every run.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** One kind of text. */
export interface HardText {
  readonly name: string
  readonly text: string
}

const prose: Readonly<Record<string, string>> = {
  english:
    'All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and ' +
    'should act towards one another in a spirit of brotherhood. The tenant shall, upon reasonable notice, permit the ' +
    'landlord to enter; notwithstanding the foregoing, no waiver of any covenant is deemed a waiver of another.',
  medicine:
    'The patient presented with thrombocytopenia, hepatosplenomegaly and paroxysmal nocturnal haemoglobinuria; ' +
    'levothyroxine was discontinued, methylprednisolone and acetylsalicylic acid were administered intravenously.',
  german:
    'Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und ' +
    'sollen einander im Geist der Brüderlichkeit begegnen. Die Grundstücksverkehrsgenehmigungszuständigkeit und das ' +
    'Rechtsschutzversicherungsgesetz bleiben unberührt.',
  french:
    'Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience ' +
    "et doivent agir les uns envers les autres dans un esprit de fraternité. L'été, où qu'il fût, n'était guère gênant.",
  spanish:
    'Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, ' +
    'deben comportarse fraternalmente los unos con los otros. ¿Mañana? ¡Qué ilusión, señor!',
  finnish:
    'Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto, ' +
    'ja heidän on toimittava toisiaan kohtaan veljeyden hengessä. Epäjärjestelmällisyydestäänkään hän ei luopunut.',
  polish:
    'Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i ' +
    'sumieniem i powinni postępować wobec innych w duchu braterstwa. Zażółć gęślą jaźń.',
  czech:
    'Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a mají spolu ' +
    'jednat v duchu bratrství. Příliš žluťoučký kůň úpěl ďábelské ódy.',
  turkish:
    'Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve birbirlerine karşı ' +
    'kardeşlik zihniyeti ile hareket etmelidirler.',
  indonesian:
    'Semua orang dilahirkan merdeka dan mempunyai martabat dan hak-hak yang sama. Mereka dikaruniai akal dan hati ' +
    'nurani dan hendaknya bergaul satu sama lain dalam semangat persaudaraan.',
  swahili:
    'Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na dhamiri, hivyo yapasa watendeane ' +
    'kindugu. Hakuna atakayewekwa katika utumwa au hali ya utumwa.',
  zulu:
    'Bonke abantu bazalwa bekhululekile belingana ngesithunzi nangamalungelo. Bahlanganiswe wumcabango nangunembeza ' +
    'futhi kufanele baphathane ngomoya wobunye.',
  vietnamese:
    'Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. Mọi con người đều được tạo hoá ban ' +
    'cho lý trí và lương tâm và cần phải đối xử với nhau trong tình bằng hữu.',
  russian:
    'Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны ' +
    'поступать в отношении друг друга в духе братства. Съешь же ещё этих мягких французских булок, да выпей чаю.',
  ukrainian:
    'Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і повинні ' +
    'діяти у відношенні один до одного в дусі братерства.',
  greek:
    'Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική ' +
    'και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.',
  hebrew:
    'כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ' +
    'ברוח של אחווה.',
  arabic:
    'يولد جميع الناس أحرارا متساوين في الكرامة والحقوق، وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا بروح الإخاء.',
  arabicWithVowels: 'يُولَدُ جَمِيعُ النَّاسِ أَحْرَارًا مُتَسَاوِينَ فِي الْكَرَامَةِ وَالْحُقُوقِ، وَقَدْ وُهِبُوا عَقْلًا وَضَمِيرًا.',
  persian:
    'تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند. همه دارای عقل و وجدان هستند و باید نسبت ' +
    'به یکدیگر با روح برادری رفتار کنند.',
  armenian:
    'Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։ Նրանք ունեն բանականություն ու խիղճ։',
  georgian:
    'ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით. მათ მინიჭებული აქვთ გონება და სინდისი.',
  hindi:
    'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन ' +
    'प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।',
  bengali: 'সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে। তাঁদের বিবেক এবং বুদ্ধি আছে।',
  tamil: 'மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும், உரிமைகளிலும் சமமானவர்கள்.',
  thai: 'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ',
  amharic: 'የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው። የተፈጥሮ ማስተዋልና ሕሊና ስላለው አንዱ ሌላውን በወንድማማችነት መንፈስ መመልከት ይገባዋል።',
  khmer: 'មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព ក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ។',
  chinese:
    '人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。鉴于各联合国国家人民已在联合国宪章中重申他们对' +
    '基本人权、人格尊严和价值以及男女平等权利的信念，并决心促成较大自由中的社会进步和生活水平的改善。',
  traditional:
    '人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。鬱鬱蔥蔥，龜鱉黿鼉，齟齬囁嚅，饕餮魑魅。',
  classical:
    '北冥有魚，其名為鯤。鯤之大，不知其幾千里也。化而為鳥，其名為鵬。鵬之背，不知其幾千里也；怒而飛，其翼若垂天之雲。',
  japanese:
    'すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、' +
    '互いに同胞の精神をもって行動しなければならない。コンピューターのアルゴリズムとプログラミング。',
  korean:
    '모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 ' +
    '정신으로 행동하여야 한다. 찦차를 타고 온 펲시맨과 쑛다리 똠방각하.',
}

/** A generator of whole numbers below 2^32: the same texts on every run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 8
  }
}

function randomBytes(length: number): Buffer {
  const next = numbers(7)
  return Buffer.from(Array.from({ length }, () => next() & 0xff))
}

function drawn(characters: readonly string[], length: number): string {
  const next = numbers(11)
  return Array.from({ length }, () => characters[next() % characters.length]!).join('')
}

const emoji = [...'😀😂🥹🤖🦊🐉🌶🍣🚀⚙🛰🧬💶📎🔒🗝🪐🫠🏳🌈👩👨👧👍🏽🇩🇪🇯🇵🇿🇦']
const code = (folder: string, ending: string): string =>
  readdirSync(resolve(import.meta.dirname, '../..', folder))
    .filter(name => name.endsWith(ending))
    .map(name => readFileSync(join(import.meta.dirname, '../..', folder, name), 'utf8'))
    .join('\n')
    .slice(0, 16_000)

const python =
  'def __init__(self, *, max_tokens: int | None = None, **kwargs):\n\tsuper().__init__(**kwargs)\n\t' +
  'self._lookup = {k: v for k, v in zip("abc", [0x1F, 1e-9, 3.14159])}\n\treturn not (x != y and z <= 10 ** 9)\n'
const table =
  'id;date;amount;iban\n1;2026-11-28;1,234.56;DE89 3704 0044 0532 0130 00\n2;1999-01-31;-0.07;GB82 WEST 1234\n'
const log =
  '2026-11-28T23:59:59.999Z ERROR [pool-7-thread-42] com.acme.Foo - 10.0.0.1:5432 0xdeadbeef uid=1001 {"ok":false}\n'

const lines = (text: string): string => text.replace(/.{76}/g, '$&\n')

/** All of them. */
export function hardTexts(): readonly HardText[] {
  const bytes = randomBytes(3000)
  const digits = drawn([...'0123456789'], 4000)
  const more = {
    typescript: code('src/lib/json', '.ts'),
    markdown: code('docs', '.md'),
    json: code('examples', '.json'),
    python: python.repeat(4),
    table: table.repeat(4),
    log: log.repeat(4),
    base64: lines(bytes.toString('base64')),
    base64url: lines(bytes.toString('base64url')),
    hex: lines(bytes.toString('hex')),
    hexUpper: lines(bytes.toString('hex').toUpperCase()),
    uuids: bytes.toString('hex').replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/g, '$1-$2-$3-$4-$5\n'),
    capitals: prose['english']!.toUpperCase() + prose['medicine']!.toUpperCase(),
    digits: lines(digits),
    figures: digits.replace(/(\d{1,5})(\d\d)/g, '$1.$2 '),
    symbols: lines(drawn([...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'], 3000)),
    blanks: '\n'.repeat(500) + '\r\n\t'.repeat(300) + ' \n'.repeat(200) + ' '.repeat(999),
    emoji: drawn(emoji, 2000),
    skins: '👩🏽‍🚀👨‍👩‍👧‍👦🏳️‍🌈'.repeat(60),
    mathematics: drawn([...'∀∃∈∉∑∏∫√∞≤≥≠≈→⇒⟨⟩αβγδελμπσω²³½×÷'], 2000),
    boxes: drawn([...'─│┌┐└┘├┤┬┴┼═║╔╗╚╝█▓▒░•…–—“”„‘’€'], 2000),
  }
  return [...Object.entries(prose), ...Object.entries(more)].map(([name, text]) => ({ name, text }))
}
