// A page that is served while its runs go on: it asks for what is new, and says when they are over.

const ASK_EVERY = 1000; // milliseconds; records are read less often
const GIVE_UP_AFTER = 5; // questions without an answer
const ownName = Math.random().toString(36).slice(2);
const liveWords = el("span", { id: "live", role: "status" });
document.querySelector(".top").append(liveWords);
let { stamp, over } = data.live, failures = 0;

function sayLive(words, state) {
  if (liveWords.textContent !== words) liveWords.textContent = words;
  liveWords.className = state;
}

function sayHowFar() {
  if (over) return sayLive(data.runs.length > 1 ? "The runs are over." : "The run is over.", "over");
  sayLive("live", "on");
}

async function ask() {
  let answer;
  try {
    answer = await (await fetch(`fresh?page=${ownName}&seen=${stamp}`)).json();
    failures = 0;
  } catch {
    failures += 1;
    if (failures < GIVE_UP_AFTER) return setTimeout(ask, ASK_EVERY);
    return sayLive("No longer live: the command has ended. Its report.html has all of it.", "over");
  }
  ({ stamp, over } = answer);
  if (answer.data) show(answer.data);
  sayHowFar();
  if (!over) setTimeout(ask, ASK_EVERY);
}

sayHowFar();
if (!over) setTimeout(ask, ASK_EVERY);
