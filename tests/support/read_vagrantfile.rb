# Loads the Vagrantfile given as argument without Vagrant, and prints what it asks for as JSON.
require "json"

class Recorder
  attr_reader :settings, :provisioners, :providers

  def initialize
    @settings, @provisioners, @providers = {}, [], {}
  end

  def vm = self

  def provision(kind, **options) = @provisioners << options.merge(kind: kind)

  def provider(name)
    yield(@providers[name] = Recorder.new)
  end

  def synced_folder(*) = nil

  def method_missing(name, value) = @settings[name.to_s.delete_suffix("=")] = value

  def respond_to_missing?(*) = true
end

module Vagrant
  def self.configure(_version)
    found = Recorder.new
    yield found
    puts JSON.generate(
      settings: found.settings,
      provisioners: found.provisioners,
      providers: found.providers.transform_values(&:settings)
    )
  end
end

load ARGV[0]
